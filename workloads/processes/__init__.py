"""Worker processes and clusters that end with the process that started them."""
