"""SCAFFOLD (Karimireddy et al., ICML 2020): what Sections 2 to 7 state about the method."""
