"""The claims of FeDLRT, one module per theme in the order of the paper."""
