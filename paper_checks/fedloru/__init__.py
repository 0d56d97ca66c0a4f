"""FedLoRU, three versions: arXiv v2 (``fedloru-v2``), arXiv v1 (``fedloru-v1``), conference (``fedloru-iclr``)."""
