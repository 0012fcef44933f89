using System.Collections.Concurrent;
using Rebus.Activation;
using Rebus.Bus;
using Rebus.Config;
using Rebus.Logging;
using Rebus.Pipeline;
using Rebus.Transport;

namespace Dynabus.Checks.RebusTransport;

/// <summary>Texts are what the checks send to a bus of their own.</summary>
public record Text(string Content);

/// <summary>A bus with its own queue and a function as handler. It counts how often each text came.</summary>
internal sealed class TestBus : IDisposable
{
    private readonly BuiltinHandlerActivator activator = new();
    private readonly ConcurrentDictionary<string, int> handled = new();
    private readonly string? queueToDelete;

    /// <param name="queue">another bus's queue; without it the bus has one of its own, which is deleted at the end</param>
    public TestBus(
        Func<Text, IMessageContext, Task>? handler = null,
        Action<StandardConfigurer<ITransport>, AzureServiceBusTransportSettings>? transport = null,
        Action<OptionsConfigurer>? options = null,
        string? queue = null)
    {
        Queue = queue ?? Namespace.NewName("texts");
        queueToDelete = queue is null ? Queue : null;
        activator.Handle<Text>(async (_, context, text) =>
        {
            handled.AddOrUpdate(text.Content, 1, (_, times) => times + 1);
            await (handler?.Invoke(text, context) ?? Task.CompletedTask);
        });
        Bus = Configure.With(activator)
            .Logging(logging => logging.None())
            .Transport(configurer =>
            {
                var settings = configurer.UseAzureServiceBus(Namespace.ConnectionString, Queue);
                settings.SetReceiveOperationTimeout(TimeSpan.FromSeconds(5));
                transport?.Invoke(configurer, settings);
            })
            .Options(configurer => options?.Invoke(configurer))
            .Start();
    }

    public IBus Bus { get; }

    public string Queue { get; }

    /// <summary>How many different texts were handled.</summary>
    public int Different => handled.Count;

    /// <summary>How often any text was handled.</summary>
    public int Total => handled.Values.Sum();

    public int TimesOf(string content) => handled.GetValueOrDefault(content);

    /// <summary>Sends many texts to its own queue, all at once.</summary>
    public async Task SendMany(int count)
    {
        using var scope = new RebusTransactionScope();
        for (var number = 0; number < count; number++)
        {
            await Bus.SendLocal(new Text($"{number}"));
        }

        await scope.CompleteAsync();
    }

    public void Dispose()
    {
        activator.Dispose();
        if (queueToDelete is not null)
        {
            Namespace.Administration.DeleteQueueAsync(queueToDelete).GetAwaiter().GetResult();
        }
    }
}
