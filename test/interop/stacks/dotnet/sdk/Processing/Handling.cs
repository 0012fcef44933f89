using System.Collections.Concurrent;
using Azure.Messaging.ServiceBus;

namespace Dynabus.Checks.Sdk.Processing;

/// <summary>What a processor has handled, and the errors that it told.</summary>
internal sealed class Handling
{
    private int running;
    private int most;

    public ConcurrentQueue<string> Bodies { get; } = new();

    public ConcurrentQueue<ProcessErrorEventArgs> Errors { get; } = new();

    /// <summary>How many handlers ran at the same time at most.</summary>
    public int MostAtOnce => most;

    public int Running => running;

    public Task Told(ProcessErrorEventArgs error)
    {
        Errors.Enqueue(error);
        return Task.CompletedTask;
    }

    /// <summary>Notes the message when the work is done.</summary>
    public async Task Work(ServiceBusReceivedMessage message, TimeSpan? duration = null)
    {
        var now = Interlocked.Increment(ref running);
        InterlockedMax(ref most, now);
        await Task.Delay(duration ?? TimeSpan.Zero);
        Interlocked.Decrement(ref running);
        Bodies.Enqueue(message.Body.ToString());
    }

    public Task UntilHandled(int count) => Expect.Eventually(() => Bodies.Count >= count, of: $"{count} were handled");

    private static void InterlockedMax(ref int target, int value)
    {
        for (var seen = target; value > seen; seen = target)
        {
            if (Interlocked.CompareExchange(ref target, value, seen) == seen)
            {
                return;
            }
        }
    }
}
