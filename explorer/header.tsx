import { useState } from 'preact/hooks';
import { Clock } from './clock.tsx';
import { useConnection } from './namespace/connection.ts';
import { NamespaceChoice } from './namespace-choice.tsx';
import { pageSettings } from './ui/settings.ts';
import { useObservable } from './ui/use-observable.ts';

const THEMES = { system: 'light', light: 'dark', dark: 'system' } as const;

/** What is seen on every place of the page: which namespace this is, and whether it may be changed. */
export function Header({
  onDisconnect,
  onNamespace,
}: {
  readonly onDisconnect: () => void;
  readonly onNamespace: (name: string) => void;
}) {
  const connection = useConnection();
  const { theme, times } = useObservable(pageSettings);
  const isReadOnly = useObservable(connection.isReadOnly);
  /** A narrow page shows its switches only when somebody asks for them. */
  const [isUnfolded, setUnfolded] = useState(false);
  const {
    place,
    access,
    namespace = location.host,
    isReadOnly: isForced = false,
  } = connection.about;
  return (
    <header class={`top ${place}${isUnfolded ? ' unfolded' : ''}`}>
      <a class="brand" href="#/">
        dynabus
      </a>
      <span class="host">
        {namespace}
        {place !== 'local' && <strong class="banner">not a local namespace</strong>}
      </span>
      <button
        type="button"
        class="narrow"
        aria-expanded={isUnfolded}
        onClick={() => setUnfolded(!isUnfolded)}
      >
        Menu
      </button>
      {place === 'local' && access !== 'forwarded' && <NamespaceChoice onChoice={onNamespace} />}
      {place === 'local' && <Clock />}
      <label class="switch">
        <input
          type="checkbox"
          checked={!isReadOnly}
          disabled={isForced}
          onChange={(event) => {
            connection.isReadOnly.value = !event.currentTarget.checked;
          }}
        />
        Allow changes
      </label>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          pageSettings.value = { ...pageSettings.value, theme: THEMES[theme] };
        }}
      >
        Theme: {theme}
      </button>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          pageSettings.value = {
            ...pageSettings.value,
            times: times === 'utc' ? 'local' : 'utc',
          };
        }}
      >
        Times: {times === 'utc' ? 'UTC' : 'local'}
      </button>
      {access !== 'forwarded' && (
        <button type="button" class="quiet" onClick={onDisconnect}>
          Disconnect
        </button>
      )}
    </header>
  );
}
