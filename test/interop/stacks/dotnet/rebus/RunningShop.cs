using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Shop;

namespace Dynabus.Checks.RebusTransport;

/// <summary>Both services of the sample with a customer, on queues of their own.</summary>
internal sealed class RunningShop : IAsyncDisposable
{
    private readonly IHost orders;
    private readonly IHost shipping;

    private RunningShop(ShopSettings settings)
    {
        Settings = settings;
        orders = HostOf(services => services.AddOrders(settings).AddSingleton<ICardTerminal>(Terminal));
        shipping = HostOf(services => services.AddShipping(settings));
    }

    public ShopSettings Settings { get; }

    public TestTerminal Terminal { get; } = new();

    public OrderBook Orders => orders.Services.GetRequiredService<OrderBook>();

    public Warehouse Warehouse => shipping.Services.GetRequiredService<Warehouse>();

    public Customer Customer { get; private set; } = null!;

    public static async Task<RunningShop> Start(int maxParallelism = 4)
    {
        var shop = new RunningShop(new ShopSettings(Namespace.ConnectionString, Namespace.NewName("shop"))
        {
            MaxParallelism = maxParallelism,
            CardRetryDelay = TimeSpan.FromSeconds(4),
            PaymentTime = TimeSpan.FromSeconds(6),
        });
        await Task.WhenAll(shop.orders.StartAsync(), shop.shipping.StartAsync());
        shop.Customer = new Customer(shop.Settings);
        return shop;
    }

    /// <summary>Places an order that does at the terminal what is said here, and returns its id.</summary>
    public async Task<string> Place(Func<int, Task> behaviour, string item = "tea")
    {
        var orderId = Guid.NewGuid().ToString("N");
        Terminal.On(orderId, behaviour);
        await Customer.Place([new PlaceOrder(orderId, item, Amount: 3.20m, Card: "visa")]);
        return orderId;
    }

    public Task<string> Place(string item = "tea") => Place(_ => Task.CompletedTask, item);

    public async ValueTask DisposeAsync()
    {
        Customer.Dispose();
        await Task.WhenAll(orders.StopAsync(), shipping.StopAsync());
        orders.Dispose();
        shipping.Dispose();
        await foreach (var topic in Namespace.Administration.GetTopicsAsync())
        {
            if (await Namespace.Administration.SubscriptionExistsAsync(topic.Name, Settings.ShippingQueue))
            {
                await Namespace.Administration.DeleteSubscriptionAsync(topic.Name, Settings.ShippingQueue);
            }
        }

        foreach (var queue in new[] { Settings.OrdersQueue, Settings.ShippingQueue, Settings.ErrorQueue, Customer.Queue })
        {
            await Namespace.Administration.DeleteQueueAsync(queue);
        }
    }

    private static IHost HostOf(Action<IServiceCollection> addService)
    {
        var builder = Host.CreateApplicationBuilder();
        builder.Logging.ClearProviders();
        addService(builder.Services);
        return builder.Build();
    }
}
