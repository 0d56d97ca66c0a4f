"""Problems with known truth, for theorems to be evaluated on exactly. No problem has moved in yet."""
