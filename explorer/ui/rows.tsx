import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Rows above and below what is seen, so that scrolling shows no gap. */
const SPARE = 12;

/** The properties of rows of one height, of which only those are drawn that are seen. */
export interface RowsProps<Row> {
  readonly rows: readonly Row[];
  readonly rowHeight: number;
  readonly label: string;
  readonly head: ComponentChildren;
  readonly columns: number;
  /** `place` = where the row is among all rows, from 2 on, since the head is the first one. */
  readonly draw: (row: Row, place: number) => ComponentChildren;
  /** Called when the end of the rows is near. */
  readonly onNearEnd?: (() => void) | undefined;
}

/** A table whose length does not matter: it draws what is seen. */
export function Rows<Row>(props: RowsProps<Row>) {
  const { rows, rowHeight, label, head, columns, draw, onNearEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [{ first, count }, setRange] = useState({ first: 0, count: 60 });
  const look = useCallback(() => {
    const { current } = scroller;
    if (current === null) return;
    const top = Math.floor(current.scrollTop / rowHeight);
    const seen = Math.ceil(current.clientHeight / rowHeight);
    const next = { first: Math.max(0, top - SPARE), count: seen + 2 * SPARE };
    setRange((now) => (now.first === next.first && now.count === next.count ? now : next));
    if (top + seen + SPARE >= rows.length) onNearEnd?.();
  }, [rows.length, rowHeight, onNearEnd]);
  useLayoutEffect(() => {
    const { current } = scroller;
    if (current === null) return;
    look();
    current.addEventListener('scroll', look, { passive: true });
    const size = new ResizeObserver(look);
    size.observe(current);
    return () => {
      current.removeEventListener('scroll', look);
      size.disconnect();
    };
  }, [look]);
  useEffect(() => {
    const enter = (event: KeyboardEvent) => {
      if (event.key !== 'ArrowDown' || hasModifier(event) || !isBefore(event.target)) return;
      event.preventDefault();
      focusRow(scroller.current?.querySelector(FIRST_ROW));
    };
    addEventListener('keydown', enter);
    return () => removeEventListener('keydown', enter);
  }, []);
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLElement>) => {
    moveByKey(event);
    // Keys may come faster than the events of scrolling, and each needs its row drawn.
    look();
  };
  const start = Math.min(first, Math.max(0, rows.length - count));
  const shown = rows.slice(start, start + count);
  const below = Math.max(0, rows.length - start - shown.length);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard.
    <section class="scroller" ref={scroller} tabIndex={0} aria-label={label} onKeyDown={onKeyDown}>
      <table aria-rowcount={rows.length + 1}>
        <thead>{head}</thead>
        <tbody>
          <Gap height={start * rowHeight} columns={columns} />
          {shown.map((row, index) => draw(row, start + index + 2))}
          <Gap height={below * rowHeight} columns={columns} />
        </tbody>
      </table>
    </section>
  );
}

const FIRST_ROW = 'tbody tr:not(.gap)';

/** Whether an arrow leads from there into the rows: from no place at all, and from the field that filters them. */
function isBefore(target: EventTarget | null): boolean {
  return (
    target === document.body || (target instanceof HTMLInputElement && target.type === 'search')
  );
}

function hasModifier({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey;
}

function focusRow(row: Element | null | undefined): void {
  row?.querySelector<HTMLElement>('th a, th button')?.focus();
}

/** Arrows go into the rows and from row to row, and `x` ticks the row. */
function moveByKey(event: TargetedKeyboardEvent<HTMLElement>): void {
  if (hasModifier(event)) return;
  const row = (event.target as Element).closest('tbody tr');
  if (event.key === 'x') {
    row?.querySelector<HTMLElement>('input[type=checkbox]')?.click();
    return;
  }
  const next = nextRow(event, row);
  if (!next) return;
  event.preventDefault();
  focusRow(next);
}

function nextRow(
  { key, target, currentTarget }: TargetedKeyboardEvent<HTMLElement>,
  row: Element | null,
): Element | null | undefined {
  if (key === 'ArrowUp') return row?.previousElementSibling;
  if (key !== 'ArrowDown') return undefined;
  if (target === currentTarget) return currentTarget.querySelector(FIRST_ROW);
  return row?.nextElementSibling;
}

function Gap({ height, columns }: { readonly height: number; readonly columns: number }) {
  if (height === 0) return null;
  return (
    <tr class="gap" style={{ height: `${height}px` }}>
      <td colSpan={columns} />
    </tr>
  );
}
