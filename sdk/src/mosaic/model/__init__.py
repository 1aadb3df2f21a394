"""What a noun of the platform is: frozen values that client, services and agents share. Standard library only.

`mosaic.model.codec` writes them as JSON and `mosaic.wire.codec` as protobuf, field by field.
"""
