using System.Collections.Concurrent;
using Rebus.Handlers;

namespace Shop;

/// <summary>What was shipped, by order.</summary>
public class Warehouse
{
    private readonly ConcurrentDictionary<string, string> parcels = new();

    public bool HasShipped(string orderId) => parcels.ContainsKey(orderId);

    /// <summary>Ships an order once, however often it is told to.</summary>
    public void Ship(string orderId, string item)
    {
        if (item == "")
        {
            throw new ArgumentException($"Order {orderId} names no item.", nameof(item));
        }

        if (parcels.TryAdd(orderId, item))
        {
            Console.WriteLine($"Shipped {item} for order {orderId}");
        }
    }
}

/// <summary>Ships each order that was placed.</summary>
public class ShippingHandler(Warehouse warehouse) : IHandleMessages<OrderPlaced>
{
    public Task Handle(OrderPlaced placed)
    {
        warehouse.Ship(placed.OrderId, placed.Item);
        return Task.CompletedTask;
    }
}
