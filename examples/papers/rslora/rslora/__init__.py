"""rsLoRA (Kalajdzievski, 2023): the scale of an adapter that keeps it stable as its rank grows, after one step."""
