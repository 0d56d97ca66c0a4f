"""Problems with known solutions, on which theorems are evaluated exactly."""
