"""One turn under way: what stands behind each verb of the loop; the operator's acts; the update without a store."""
