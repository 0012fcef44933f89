using System.Runtime.CompilerServices;
using Azure.Messaging.ServiceBus;

namespace Dynabus.Checks.Sdk;

/// <summary>What most checks do with messages.</summary>
internal static class Messages
{
    /// <summary>The wait for a message that must be there.</summary>
    public static readonly TimeSpan Wait = TimeSpan.FromSeconds(50);

    /// <summary>The wait for a message that must not be there.</summary>
    public static readonly TimeSpan Moment = TimeSpan.FromSeconds(1);

    /// <summary>The shortest lock that an entity can have.</summary>
    public static readonly TimeSpan ShortLock = TimeSpan.FromSeconds(5);

    public static async Task<ServiceBusReceivedMessage> ReceiveOne(this ServiceBusReceiver receiver) =>
        Expect.Present(await receiver.ReceiveMessageAsync(Wait), "the message");

    /// <summary>Receives until it has so many messages, since a receive may bring fewer than asked for.</summary>
    public static async Task<List<ServiceBusReceivedMessage>> ReceiveAll(this ServiceBusReceiver receiver, int count)
    {
        var messages = new List<ServiceBusReceivedMessage>();
        while (messages.Count < count)
        {
            var more = await receiver.ReceiveMessagesAsync(count - messages.Count, Wait);
            if (more.Count == 0)
            {
                throw new ExpectationException($"{messages.Count} messages came, not {count}");
            }

            messages.AddRange(more);
        }

        return messages;
    }

    public static async Task ExpectNothing(this ServiceBusReceiver receiver) =>
        Expect.Equal(null, (await receiver.ReceiveMessageAsync(Moment))?.Body.ToString(), "what is received");

    /// <summary>Receives a message, completes it and returns its body.</summary>
    public static async Task<string> CompleteOne(this ServiceBusReceiver receiver)
    {
        var message = await receiver.ReceiveOne();
        await receiver.CompleteMessageAsync(message);
        return message.Body.ToString();
    }

    public static string[] Bodies(this IEnumerable<ServiceBusReceivedMessage> messages) =>
        [.. messages.Select(message => message.Body.ToString())];

    public static string[] Numbered(string name, int count) =>
        [.. Enumerable.Range(1, count).Select(number => $"{name}{number}")];

    /// <summary>Waits until a lock has run out for certain.</summary>
    public static Task UntilAfter(DateTimeOffset instant)
    {
        var left = instant - DateTimeOffset.UtcNow + TimeSpan.FromMilliseconds(300);
        return left > TimeSpan.Zero ? Task.Delay(left) : Task.CompletedTask;
    }

    /// <summary>The refusal by the service, with its reason and whether a repetition has a chance.</summary>
    public static async Task<ServiceBusException> Refused(
        ServiceBusFailureReason reason,
        Func<Task> action,
        bool isTransient = false,
        [CallerArgumentExpression(nameof(action))] string of = "")
    {
        var error = await Expect.Throws<ServiceBusException>(action, of);
        Expect.Equal(reason, error.Reason, $"the reason of {of}");
        Expect.Equal(isTransient, error.IsTransient, $"IsTransient of {of}");
        return error;
    }
}
