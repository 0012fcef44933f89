using System.Collections.Concurrent;
using Shop;

namespace Dynabus.Checks.WolverineFx;

/// <param name="What">The method that was called.</param>
/// <param name="Key">Whose: an order or a parcel.</param>
internal sealed record Call(string What, string Key, DateTimeOffset At, int Step = 0);

/// <summary>Stands for what the shop calls. Notes each call, and fails or takes long if a check wants so.</summary>
internal sealed class Recorder : IOutside
{
    private readonly ConcurrentQueue<Call> calls = new();
    private readonly ConcurrentDictionary<string, Func<int, Exception?>> failures = new();
    private readonly ConcurrentDictionary<string, TimeSpan> durations = new();
    private readonly Gauge labels = new();
    private readonly Gauge parcels = new();

    /// <summary>How many labels were printed at once, at most.</summary>
    public int MostLabels => labels.Most;

    /// <summary>How many parcels were moved at once, at most.</summary>
    public int MostParcels => parcels.Most;

    /// <summary>Has calls for this key fail as the function says of the first, second, ... of them.</summary>
    public void Fail(string key, Func<int, Exception?> failure) => failures[key] = failure;

    /// <summary>Has calls for this key take so long.</summary>
    public void Take(string key, TimeSpan duration) => durations[key] = duration;

    public IReadOnlyList<Call> Calls(string what, string key) =>
        [.. calls.Where(call => call.What == what && call.Key == key)];

    public IReadOnlyList<Call> CallsOfAll(string what, string prefix) =>
        [.. calls.Where(call => call.What == what && call.Key.StartsWith(prefix, StringComparison.Ordinal))];

    /// <summary>How many of the keys with this prefix were called at least once.</summary>
    public int Keys(string what, string prefix) =>
        CallsOfAll(what, prefix).Select(call => call.Key).Distinct().Count();

    public Task TakeOrder(string orderId) => Note(nameof(TakeOrder), orderId);

    public Task SendInvoice(string orderId, decimal total) => Note(nameof(SendInvoice), orderId);

    public Task CallCustomer(string orderId) => Note(nameof(CallCustomer), orderId);

    public Task ScanParcel(string parcelId, int step) =>
        parcels.Within(() => Note(nameof(ScanParcel), parcelId, step, TimeSpan.FromMilliseconds(20)));

    public Task RemindCustomer(string orderId) => Note(nameof(RemindCustomer), orderId);

    public Task ChargeCard(string orderId, decimal amount) => Note(nameof(ChargeCard), orderId);

    public Task PrintLabel(string orderId) =>
        labels.Within(() => Note(nameof(PrintLabel), orderId, duration: TimeSpan.FromMilliseconds(30)));

    private async Task Note(string what, string key, int step = 0, TimeSpan duration = default)
    {
        calls.Enqueue(new Call(what, key, DateTimeOffset.UtcNow, step));
        await Task.Delay(durations.GetValueOrDefault(key, duration));
        if (failures.GetValueOrDefault(key)?.Invoke(Calls(what, key).Count) is { } failure)
        {
            throw failure;
        }
    }

    private sealed class Gauge
    {
        private readonly Lock gate = new();
        private int now;

        public int Most { get; private set; }

        public async Task Within(Func<Task> work)
        {
            lock (gate)
            {
                Most = Math.Max(Most, ++now);
            }

            try
            {
                await work();
            }
            finally
            {
                lock (gate)
                {
                    now--;
                }
            }
        }
    }
}
