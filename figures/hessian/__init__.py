"""Figures of measured Hessians."""
