// Code says `tn.linalg.svd`, or as in JAX and NumPy `jnp.linalg.svd`; the index has full names.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const query = Search.query;
  Search.query = (asked) => query(asked.replace(/\b(tn|jnp|np)\./g, "tenferro."));
});
