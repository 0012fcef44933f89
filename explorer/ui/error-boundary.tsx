import { Component, type ComponentChildren } from 'preact';
import { ErrorNotice } from './error-notice.tsx';

/** Keeps a fault of one part of the page from ending the whole, which holds the key and the work that runs. */
export class ErrorBoundary extends Component<
  { readonly children: ComponentChildren },
  { readonly error?: unknown }
> {
  override state: { readonly error?: unknown } = {};

  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    return error === undefined ? this.props.children : <ErrorNotice error={error} />;
  }
}
