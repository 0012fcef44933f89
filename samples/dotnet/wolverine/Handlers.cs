namespace Shop;

/// <summary>
/// The event that it returns is sent only once the command is handled: the outbox keeps it until the topic has it.
/// </summary>
public static class PlaceOrderHandler
{
    public static async Task<OrderPlaced> Handle(PlaceOrder command, IOutside outside)
    {
        await outside.TakeOrder(command.OrderId);
        return new OrderPlaced(command.OrderId, command.Total);
    }
}

/// <summary>Hears of every order.</summary>
public static class InvoiceHandler
{
    public static Task Handle(OrderPlaced placed, IOutside outside) =>
        outside.SendInvoice(placed.OrderId, placed.Total);
}

/// <summary>Hears of those orders that the rule of its subscription lets through.</summary>
public static class LargeOrderHandler
{
    public static Task Handle(OrderPlaced placed, IOutside outside) => outside.CallCustomer(placed.OrderId);
}

/// <summary>Answers into the queue of the process that asks.</summary>
public static class GetQuoteHandler
{
    public static Quote Handle(GetQuote request) =>
        request.Count > 0
            ? new Quote(request.Article, request.Count * 9.5m)
            : throw new ArgumentOutOfRangeException(nameof(request), "Count is at least 1");
}

public static class MoveParcelHandler
{
    public static Task Handle(MoveParcel step, IOutside outside) => outside.ScanParcel(step.ParcelId, step.Step);
}

public static class RemindCustomerHandler
{
    public static Task Handle(RemindCustomer reminder, IOutside outside) => outside.RemindCustomer(reminder.OrderId);
}

public static class ChargeCardHandler
{
    public static Task Handle(ChargeCard command, IOutside outside) =>
        outside.ChargeCard(command.OrderId, command.Amount);
}

public static class PrintLabelHandler
{
    public static Task Handle(PrintLabel command, IOutside outside) => outside.PrintLabel(command.OrderId);
}
