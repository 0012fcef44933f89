import type { Samples } from '../namespace/history.ts';

const WIDTH = 72;
const HEIGHT = 20;

/** A small picture of how the counts of an entity went while the page was open: messages, and dead letters in red. */
export function Sparkline({ samples }: { readonly samples: Samples | undefined }) {
  if (samples === undefined || samples.active.length < 2) return null;
  const { active, dead } = samples;
  const most = Math.max(1, ...active, ...dead);
  const change = (active.at(-1) ?? 0) - (active[0] ?? 0);
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img">
      <title>{`Active messages: ${change < 0 ? '' : '+'}${change} while this page was open`}</title>
      <polyline class="active" points={pointsOf(active, most)} />
      {dead.some((count) => count > 0) && <polyline class="dead" points={pointsOf(dead, most)} />}
    </svg>
  );
}

function pointsOf(counts: readonly number[], most: number): string {
  return counts
    .map((count, index) => {
      const x = (index / (counts.length - 1)) * WIDTH;
      const y = HEIGHT - 1 - (count / most) * (HEIGHT - 2);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(' ');
}
