"""A loss over data: batches, graphs of its curvature, and the checks that products rest on."""
