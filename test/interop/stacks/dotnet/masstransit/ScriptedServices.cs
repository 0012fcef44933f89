using System.Collections.Concurrent;
using Orders;

namespace Dynabus.Checks.MassTransit;

/// <summary>Payments that fail as often as a check says, and tell when they were tried.</summary>
public sealed class ScriptedPayments : IPayments
{
    private readonly ConcurrentDictionary<Guid, int> failures = new();
    private readonly ConcurrentDictionary<Guid, ConcurrentQueue<DateTimeOffset>> tries = new();

    public void Fail(Guid orderId, int times) => failures[orderId] = times;

    public IReadOnlyList<DateTimeOffset> TriesOf(Guid orderId) => [.. tries.GetOrAdd(orderId, _ => new())];

    public Task Charge(Guid orderId, int total, CancellationToken cancellationToken)
    {
        var before = TriesOf(orderId).Count;
        tries[orderId].Enqueue(DateTimeOffset.UtcNow);
        return before < failures.GetValueOrDefault(orderId)
            ? throw new PaymentsUnavailableException($"The provider is away, try {before + 1}.")
            : Task.CompletedTask;
    }
}

/// <summary>A warehouse that takes as long as a check says, and counts how many orders it ships at the same time.</summary>
public sealed class ScriptedWarehouse : IWarehouse
{
    private readonly ConcurrentDictionary<Guid, TimeSpan> durations = new();
    private readonly ConcurrentDictionary<Guid, bool> broken = new();
    private int now;
    private int most;

    /// <summary>The most orders that were shipped at the same time, since the last reset.</summary>
    public int Most => Volatile.Read(ref most);

    public void Take(Guid orderId, TimeSpan duration) => durations[orderId] = duration;

    public void Break(Guid orderId) => broken[orderId] = true;

    public void ResetMost() => Volatile.Write(ref most, 0);

    public async Task Ship(Guid orderId, CancellationToken cancellationToken)
    {
        if (broken.ContainsKey(orderId))
        {
            throw new InvalidOperationException("The parcel is broken.");
        }

        var together = Interlocked.Increment(ref now);
        InterlockedMax(ref most, together);
        try
        {
            await Task.Delay(durations.GetValueOrDefault(orderId, TimeSpan.FromMilliseconds(20)), cancellationToken);
        }
        finally
        {
            Interlocked.Decrement(ref now);
        }
    }

    private static void InterlockedMax(ref int target, int value)
    {
        for (var seen = Volatile.Read(ref target); seen < value;)
        {
            var before = Interlocked.CompareExchange(ref target, value, seen);
            if (before == seen)
            {
                return;
            }

            seen = before;
        }
    }
}
