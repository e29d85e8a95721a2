// The slider of ε says where it stands.
const slider = document.getElementById("epsilon");
slider.addEventListener("input", () => {
  document.getElementById("epsilon-said").textContent = slider.value;
});
