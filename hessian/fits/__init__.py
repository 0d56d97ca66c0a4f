"""Laws and spiked models, fitted to measured spectra or predicted from samples."""
