"""Problems with known truth, for theorems to be evaluated on exactly."""
