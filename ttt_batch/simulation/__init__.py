"""Play of batches: many games under a fixed policy, returned as counts of how often each edge was taken."""
