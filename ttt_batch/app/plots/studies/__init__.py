"""Pictures of studies: how results depend on settings, learning curves with bands, proofs over games, heat maps."""
