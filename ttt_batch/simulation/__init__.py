"""Playing a batch: many games under a fixed policy, handed over as counts of how often each edge was taken."""
