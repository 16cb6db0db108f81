"""The rows of the matrix, in its order."""

import features_files
import features_network
import features_processes

FEATURES = [*features_files.FEATURES, *features_network.FEATURES, *features_processes.FEATURES]
assert len({feature.name for feature in FEATURES}) == len(FEATURES)
