// Code says `tn.linalg.svd`, or as in JAX and NumPy `jnp.linalg.svd`; the index has full names.
// Of equal answers, the name with the fewest dots comes first: `tenferro.transpose`; a function
// comes before the module that declares it.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const query = Search.query;
  Search.query = (asked) => query(asked.replace(/\b(tn|jnp|np)\./g, "tenferro."));
  Scorer.score = ([page, name, place, about, score]) => {
    if (place?.startsWith("#module-")) return score - 15;
    return place?.startsWith("#tenferro") ? score - name.split(".").length / 4 : score;
  };
});
