// The form asks the server again when worker, algorithm or environment changes: settings are those of the choice.
const form = document.querySelector("form.train");

function ask() {
  const filled = [...new FormData(form)].filter(([name, value]) => value && !["key", "form_token"].includes(name));
  location.search = new URLSearchParams(filled);
}

form?.addEventListener("change", (event) => event.target.matches("[data-choice]") && ask());
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}
document.querySelector(".wrong :is(input, select)")?.focus();
