using Microsoft.Extensions.DependencyInjection;
using Rebus.Config;
using Rebus.Retry.Simple;
using Rebus.Routing.TypeBased;

namespace Shop;

/// <summary>The two services of the shop. Rebus creates the input queue of each when it starts.</summary>
public static class ShopServices
{
    /// <summary>Rebus looks for locks to renew every 10 seconds, so a lock has to last at least 20.</summary>
    private static readonly TimeSpan LockDuration = TimeSpan.FromSeconds(30);

    /// <summary>Takes orders and charges cards. What fails for good goes to the error queue.</summary>
    public static IServiceCollection AddOrders(this IServiceCollection services, ShopSettings settings) =>
        services
            .AddSingleton(settings)
            .AddSingleton<OrderBook>()
            .AddSingleton<ICardTerminal, CardTerminal>()
            .AddRebusHandler<OrderHandler>()
            .AddRebusHandler<PaymentHandler>()
            .AddRebus(configure => configure
                .Transport(transport => transport
                    .UseAzureServiceBus(settings.ConnectionString, settings.OrdersQueue)
                    .SetMessagePeekLockDuration(LockDuration)
                    .AutomaticallyRenewPeekLock())
                .Routing(routing => routing.TypeBased().Map<ChargeCard>(settings.OrdersQueue))
                .Options(options =>
                {
                    options.SetNumberOfWorkers(2);
                    options.SetMaxParallelism(settings.MaxParallelism);
                    options.RetryStrategy(settings.ErrorQueue, settings.Attempts, secondLevelRetriesEnabled: true);
                }));

    /// <summary>Ships what was ordered. What fails for good goes to the dead-letter queue of its own queue.</summary>
    public static IServiceCollection AddShipping(this IServiceCollection services, ShopSettings settings) =>
        services
            .AddSingleton(settings)
            .AddSingleton<Warehouse>()
            .AddRebusHandler<ShippingHandler>()
            .AddRebus(
                configure => configure
                    .Transport(transport =>
                    {
                        transport.UseAzureServiceBus(settings.ConnectionString, settings.ShippingQueue);
                        transport.UseNativeDeadlettering();
                    })
                    .Options(options =>
                    {
                        options.SetNumberOfWorkers(1);
                        options.SetMaxParallelism(settings.MaxParallelism);
                        options.RetryStrategy(settings.ErrorQueue, settings.Attempts);
                    }),
                onCreated: bus => bus.Subscribe<OrderPlaced>());
}
