"""An invented paper whose statements are known to be true, false, loose, vacuous or badly checked."""
