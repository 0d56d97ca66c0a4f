"""Networks and language models as federated problems."""
