"""The claims of FeDLRT, one module per result."""
