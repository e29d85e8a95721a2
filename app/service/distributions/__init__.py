"""The distribution behind perturbed values, and surveys that never see one."""
