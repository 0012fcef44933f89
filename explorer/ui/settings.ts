import { Observable } from './observable.ts';

/** What a person has chosen for this browser. It holds no key and no name of an entity. */
export interface PageSettings {
  readonly theme: 'system' | 'light' | 'dark';
  readonly times: 'local' | 'utc';
}

const NAME = 'dynabus-explorer';
const DEFAULTS: PageSettings = { theme: 'system', times: 'local' };

/** The choices, kept in the browser. */
export const pageSettings = new Observable<PageSettings>({ ...DEFAULTS, ...stored() });
pageSettings.listen(apply);
apply();

function stored(): Partial<PageSettings> {
  try {
    const { theme, times } = JSON.parse(localStorage.getItem(NAME) ?? '{}');
    return {
      ...(['system', 'light', 'dark'].includes(theme) ? { theme } : {}),
      ...(['local', 'utc'].includes(times) ? { times } : {}),
    };
  } catch {
    return {};
  }
}

function apply(): void {
  const { value } = pageSettings;
  document.documentElement.dataset['theme'] = value.theme;
  try {
    localStorage.setItem(NAME, JSON.stringify(value));
  } catch {
    // A private window may keep nothing: then the choice lasts as long as the page.
  }
}
