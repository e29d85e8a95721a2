// What every page needs: light and dark, forms that answer in place, texts that can be copied, cells
// that say what they are where a table stands as cards, and the keyboard taken to what came of a form.
import { answerInPlace } from "./forms.js";
import { offerCopying } from "./clipboard.js";
import { stopWhereTablesScroll } from "./scroll_areas.js";
import { nameCells } from "./stacked_tables.js";
import { offerThemes } from "./theme.js";
import { showLocalTimes } from "./times.js";

offerThemes();
showLocalTimes();
answerInPlace();
offerCopying();
nameCells();
stopWhereTablesScroll();
document.querySelector("[data-outcome]")?.focus();
