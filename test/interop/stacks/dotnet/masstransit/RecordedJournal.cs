using System.Collections.Concurrent;
using Orders;

namespace Dynabus.Checks.MassTransit;

/// <summary>One thing that the service did.</summary>
public sealed record Entry(string Endpoint, Guid OrderId, string What, DateTimeOffset At);

/// <summary>Keeps what the service did, so that checks can wait for it.</summary>
public sealed class RecordedJournal : IJournal
{
    private readonly ConcurrentQueue<Entry> entries = new();

    public void Write(string endpoint, Guid orderId, string what) =>
        entries.Enqueue(new Entry(endpoint, orderId, what, DateTimeOffset.UtcNow));

    /// <summary>What happened at an endpoint to one order, in order.</summary>
    public IReadOnlyList<Entry> Of(string endpoint, Guid orderId) =>
        [.. entries.Where(entry => entry.Endpoint == endpoint && entry.OrderId == orderId)];

    /// <summary>How often something happened at an endpoint, for each order that is listed.</summary>
    public IReadOnlyDictionary<Guid, int> CountsOf(string endpoint) =>
        entries.Where(entry => entry.Endpoint == endpoint)
            .GroupBy(entry => entry.OrderId)
            .ToDictionary(group => group.Key, group => group.Count());

    /// <summary>Waits for the first entry of an order at an endpoint.</summary>
    public async Task<Entry> First(string endpoint, Guid orderId, TimeSpan? bound = null)
    {
        await Expect.Eventually(() => Of(endpoint, orderId).Count > 0, bound, $"{endpoint} has {orderId}");
        return Of(endpoint, orderId)[0];
    }
}
