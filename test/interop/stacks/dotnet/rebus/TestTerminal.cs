using System.Collections.Concurrent;
using Shop;

namespace Dynabus.Checks.RebusTransport;

/// <summary>A card terminal that remembers each attempt, and does with an order what a check says.</summary>
internal sealed class TestTerminal : ICardTerminal
{
    private readonly ConcurrentDictionary<string, ConcurrentQueue<DateTimeOffset>> attempts = new();
    private readonly ConcurrentDictionary<string, Func<int, Task>> behaviours = new();
    private int atOnce;
    private int mostAtOnce;

    /// <summary>The highest number of charges that ran at the same time.</summary>
    public int MostAtOnce => Volatile.Read(ref mostAtOnce);

    /// <summary>What all orders do that have no behaviour of their own.</summary>
    public Func<Task> Usually { get; set; } = () => Task.CompletedTask;

    /// <summary>Says what an order does, given the number of the attempt, from 1.</summary>
    public void On(string orderId, Func<int, Task> behaviour) => behaviours[orderId] = behaviour;

    /// <summary>When each attempt to charge an order began.</summary>
    public DateTimeOffset[] AttemptsOf(string orderId) => attempts.TryGetValue(orderId, out var times) ? [.. times] : [];

    public async Task Charge(ChargeCard charge)
    {
        var times = attempts.GetOrAdd(charge.OrderId, _ => new());
        times.Enqueue(DateTimeOffset.UtcNow);
        NoteMost(Interlocked.Increment(ref atOnce));
        try
        {
            await (behaviours.TryGetValue(charge.OrderId, out var behaviour) ? behaviour(times.Count) : Usually());
        }
        finally
        {
            Interlocked.Decrement(ref atOnce);
        }
    }

    private void NoteMost(int now)
    {
        int known;
        while ((known = MostAtOnce) < now)
        {
            Interlocked.CompareExchange(ref mostAtOnce, now, known);
        }
    }
}
