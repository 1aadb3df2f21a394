"""What a noun of the platform is: frozen values that client, services and agents share. Standard library only.

`mosaic.wire.codec` writes them as protobuf and as JSON, field by field; nothing else converts them.
"""
