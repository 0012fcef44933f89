using Microsoft.Extensions.Hosting;
using Shop;

var connectionString = Environment.GetEnvironmentVariable("SERVICEBUS_CONNECTION_STRING");
if (connectionString is null)
{
    Console.Error.WriteLine("Set SERVICEBUS_CONNECTION_STRING to the connection string of the namespace.");
    return 2;
}

var settings = new ShopSettings(connectionString);
switch (args)
{
    case ["orders"]:
        await Run(builder => builder.Services.AddOrders(settings));
        return 0;
    case ["shipping"]:
        await Run(builder => builder.Services.AddShipping(settings));
        return 0;
    case ["buy", var item, var card]:
        await Buy(item, card);
        return 0;
    default:
        Console.Error.WriteLine("Usage: dotnet run -- orders | shipping | buy <item> <card>");
        return 2;
}

static async Task Run(Action<HostApplicationBuilder> addService)
{
    var builder = Host.CreateApplicationBuilder();
    addService(builder);
    await builder.Build().RunAsync();
}

async Task Buy(string item, string card)
{
    using var customer = new Customer(settings);
    var order = new PlaceOrder(Guid.NewGuid().ToString("N"), item, Amount: 12.50m, card);
    await customer.Place([order]);
    OrderStatus status;
    do
    {
        await Task.Delay(TimeSpan.FromSeconds(1));
        status = await customer.StatusOf(order.OrderId, patience: TimeSpan.FromSeconds(30));
        Console.WriteLine($"Order {order.OrderId} is {status.State}");
    }
    while (status.State is OrderState.Unknown or OrderState.Placed);
}
