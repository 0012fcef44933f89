using System.Collections.Concurrent;
using Rebus.Activation;
using Rebus.Bus;
using Rebus.Config;
using Rebus.Logging;
using Rebus.Messages;
using Rebus.Retry.Simple;
using Rebus.Routing.TypeBased;
using Rebus.Transport;

namespace Shop;

/// <summary>
/// Places orders and asks for them. Replies come to a queue of its own, which Service Bus deletes five minutes
/// after its last use.
/// </summary>
public sealed class Customer : IDisposable
{
    private readonly BuiltinHandlerActivator activator = new();
    private readonly ConcurrentDictionary<string, TaskCompletionSource<OrderStatus>> requests = new();
    private readonly IBus bus;

    public Customer(ShopSettings settings)
    {
        Queue = $"{settings.Prefix}-customer-{Guid.NewGuid():N}";
        activator.Handle<OrderStatus>((_, context, status) =>
        {
            if (requests.TryRemove(context.Headers[Headers.InReplyTo], out var request))
            {
                request.TrySetResult(status);
            }

            return Task.CompletedTask;
        });
        bus = Configure.With(activator)
            .Logging(logging => logging.Console(LogLevel.Warn))
            .Transport(transport => transport
                .UseAzureServiceBus(settings.ConnectionString, Queue)
                .SetAutoDeleteOnIdle(TimeSpan.FromMinutes(5)))
            .Routing(routing => routing.TypeBased()
                .Map<PlaceOrder>(settings.OrdersQueue)
                .Map<GetOrderStatus>(settings.OrdersQueue))
            .Options(options => options.RetryStrategy(settings.ErrorQueue))
            .Start();
    }

    /// <summary>Where replies come.</summary>
    public string Queue { get; }

    /// <summary>Places all of these orders, or none if it throws: they are sent when the scope is completed.</summary>
    public async Task Place(IEnumerable<PlaceOrder> orders)
    {
        using var scope = new RebusTransactionScope();
        foreach (var order in orders)
        {
            await bus.Send(order);
        }

        await scope.CompleteAsync();
    }

    /// <summary>Asks the order service, and waits for its reply.</summary>
    public async Task<OrderStatus> StatusOf(string orderId, TimeSpan patience)
    {
        var messageId = Guid.NewGuid().ToString();
        var request = new TaskCompletionSource<OrderStatus>(TaskCreationOptions.RunContinuationsAsynchronously);
        requests[messageId] = request;
        try
        {
            await bus.Send(new GetOrderStatus(orderId), new Dictionary<string, string> { [Headers.MessageId] = messageId });
            return await request.Task.WaitAsync(patience);
        }
        finally
        {
            requests.TryRemove(messageId, out _);
        }
    }

    public void Dispose() => activator.Dispose();
}
