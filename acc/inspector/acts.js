// The operator's acts. Each shows its plan first; the server does nothing before that is confirmed.
let token = "";

function send(path, body) {
  const headers = { "content-type": "application/json", "x-acc-token": token };
  return ask(path, {}, { method: "POST", headers, body: JSON.stringify(body) });
}

// Asks for the token and the reason, then shows the plan, then its result.
function act(heading, asked, { asksReason = true, needsReason = false, danger = false } = {}, done = () => {}) {
  by("act-title").textContent = heading;
  const problem = made("div", { role: "alert" });
  const secret = made("input", { type: "password", autocomplete: "off", value: token, required: true });
  const why = made("input", { type: "text", maxlength: 400, required: needsReason });
  const preview = made("button", { type: "submit", class: "primary" }, "Show the plan");
  const form = made("form", {}, made("label", {}, "Operator's token", secret), !asksReason ? null : made("label", {}, needsReason ? "Reason, and who asks for it" : "Reason, which the agent reads", why), problem, made("div", { class: "acts" }, preview));
  const told = error => fill(problem, made("p", { class: "notice" }, error.error ?? String(error), error.hint ? made("span", { class: "hint" }, `To fix: ${error.hint}`) : null));
  form.addEventListener("submit", async event => {
    event.preventDefault();
    token = secret.value.trim();
    preview.disabled = true;
    try {
      const plan = await send("plan", { ...asked, reason: why.value });
      confirmed(plan);
    } catch (error) {
      told(error);
    }
    preview.disabled = false;
  });
  const confirmed = plan => {
    const sure = made("button", { type: "button", class: danger ? "danger" : "primary" }, danger ? "Erase for good" : "Do this");
    sure.addEventListener("click", async () => {
      sure.disabled = true;
      try {
        const result = await send("confirm", { plan: plan.plan });
        fill("act-body", made("pre", { class: "plan", role: "status" }, result.lines.join("\n")), made("div", { class: "acts" }, made("button", { type: "button", class: "primary", click: () => by("act").close() }, "Close")));
        done();
      } catch (error) {
        told(error);
      }
    });
    fill("act-body", made("p", {}, "Nothing has been done yet. This is the plan:"), made("pre", { class: "plan" }, plan.lines.join("\n")), problem,
      made("div", { class: "acts" }, made("button", { type: "button", click: () => by("act").close() }, "Cancel"), sure));
    fill(problem);
    sure.focus();
  };
  fill("act-body", form);
  by("drawer").close();
  document.querySelector(".menu")?.removeAttribute("open");
  by("act").showModal();
  (token ? why : secret).focus();
}
by("act-close").addEventListener("click", () => by("act").close());
by("drawer-close").addEventListener("click", () => by("drawer").close());
for (const name of ["act", "drawer"]) {
  by(name).addEventListener("click", event => { if (event.target === by(name)) by(name).close(); });
  by(name).addEventListener("close", () => by(name).open || fill(`${name}-body`));
}
