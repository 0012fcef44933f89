import { useEffect, useState } from 'preact/hooks';
import { useConnection } from './namespace/connection.ts';

/** The name of the root rule in a namespace of its own: `RootManageSharedAccessKey@tests`. */
const OWN_NAMESPACE = /@(.+)$/;

/** The namespaces of a local server, where there are several. */
export function NamespaceChoice({ onChoice }: { readonly onChoice: (name: string) => void }) {
  const { caller, access } = useConnection();
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    caller.call({ method: 'GET', path: '$namespaces' }).then(
      ({ text }) =>
        setNames((JSON.parse(text) as { readonly name: string }[]).map(({ name }) => name)),
      // Only the default namespace lists them.
      () => {},
    );
  }, [caller]);
  if (names.length < 2) return null;
  const current = access.kind === 'key' ? OWN_NAMESPACE.exec(access.keyName)?.[1] : undefined;
  return (
    <label>
      <span class="unseen">Namespace</span>
      <select
        onChange={({ currentTarget }) => {
          const { value } = currentTarget;
          // It shows the one that is open, where somebody may decide to stay.
          currentTarget.value = current ?? names[0] ?? '';
          onChoice(value);
        }}
      >
        {names.map((name) => (
          <option key={name} value={name} selected={name === (current ?? names[0])}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
