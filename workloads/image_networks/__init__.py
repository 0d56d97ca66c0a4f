"""Networks for images, and their training on one machine."""
