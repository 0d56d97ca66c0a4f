"""An invented paper about squares, for records of the engine and of the pages."""
